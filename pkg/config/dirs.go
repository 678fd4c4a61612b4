package config

import "path/filepath"

// The folders follow the XDG Base Directory Specification on Unix and the places that programs of macOS and Windows use
// there. This file computes them by hand because the libraries for it read files and the whole environment before main.

// CacheDir returns mcpl's folder for what can be made again: $XDG_CACHE_HOME/mcpl, by default in
// ~/.cache, ~/Library/Caches or %LOCALAPPDATA%\cache.
func (e Env) CacheDir() string {
	return e.xdg("XDG_CACHE_HOME", ".cache", "Library/Caches", "cache")
}

// StateDir returns mcpl's folder for what a person chose by command: $XDG_STATE_HOME/mcpl, by
// default in ~/.local/state, ~/Library/Application Support or %LOCALAPPDATA%.
func (e Env) StateDir() string {
	return e.xdg("XDG_STATE_HOME", ".local/state", "Library/Application Support", "")
}

// SettingsFile returns the path of mcpl's own settings: $XDG_CONFIG_HOME/mcpl/config.toml, by
// default in ~/.config, ~/Library/Application Support or %LOCALAPPDATA%.
func (e Env) SettingsFile() string {
	dir := e.xdg("XDG_CONFIG_HOME", ".config", "Library/Application Support", "")
	return filepath.Join(dir, "config.toml")
}

// xdg returns mcpl's folder inside the one that the variable names, or inside the system's own. As the specification
// says, it ignores a relative path.
func (e Env) xdg(variable, unix, darwin, windows string) string {
	if dir := e.get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpl")
	}
	switch e.GOOS {
	case "darwin", "ios":
		return filepath.Join(e.Home, filepath.FromSlash(darwin), "mcpl")
	case "windows":
		local := e.get("LOCALAPPDATA")
		if local == "" {
			local = filepath.Join(e.Home, "AppData", "Local")
		}
		return filepath.Join(local, windows, "mcpl")
	default:
		return filepath.Join(e.Home, filepath.FromSlash(unix), "mcpl")
	}
}
