//go:build !unix

package atomicfile

import "io/fs"

// Foreign names the owner of a file, folder or link. Here files do not tell.
func Foreign(fs.FileInfo) string { return "" }

// Exposed says how another user could have written a file or folder. Here files do not tell.
func Exposed(fs.FileInfo) string { return "" }
