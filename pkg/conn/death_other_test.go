//go:build !linux

package conn

func beParent() {}
