package main

import "io"

func ablate(sets []*set, w io.Writer) error { return nil }
