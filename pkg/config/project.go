package config

import (
	"os"
	"path/filepath"
)

// Project returns the folder that a choice for "this project" is kept for: the nearest one, up to the root of the
// repository, with a configuration file; else that root; outside of a repository the working directory. Which files
// are in force does not matter.
func (e Env) Project() string {
	var last string
	for dir := range e.Upwards() {
		for _, name := range []string{".mcp.json", filepath.Join(".claude", "mcp.json")} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
				return dir
			}
		}
		last = dir
	}
	return last
}
