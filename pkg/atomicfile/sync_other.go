//go:build !unix

package atomicfile

// syncFolder does nothing: Windows cannot sync a folder, and its file systems keep a journal of renames.
func syncFolder(string) error { return nil }
