// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCheckFileSystem(t *testing.T) {
	if err := checkFileSystem("/proc"); err != nil { // of this machine, at any rate
		t.Error(err)
	}
	if err := checkFileSystem(t.TempDir() + "/missing"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	// The numbers of statfs(2) and of the kernel's include/uapi/linux/magic.h.
	for number, name := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "SMB (CIFS)", 0xfe534d42: "SMB", 0x00c36400: "Ceph",
	} {
		if got := elsewhere[number]; got != name {
			t.Errorf("%#x: %q; want %q", number, got, name)
		}
	}
	for _, number := range []uint32{
		unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, fuse,
	} {
		if got, found := elsewhere[number]; found {
			t.Errorf("%#x: %q", number, got)
		}
	}
}

func TestRemoteFUSE(t *testing.T) {
	// proc_pid_mountinfo(5)
	const mounts = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /mnt/far rw,nosuid shared:20 master:1 - fuse.sshfs ann@host: rw,user_id=0
41 22 8:17 / /mnt/stick rw shared:21 - fuseblk /dev/sdb1 rw
42 22 0:36 / /var/lib/x rw - fuse.fuse-overlayfs fuse-overlayfs rw
43 22 0:37 / /home/ann/my\040drive rw - fuse drive rw
44 22 0:38 / /workspace rw - virtiofs workspace rw
`
	for device, want := range map[string]string{
		"0:35": "fuse.sshfs", "8:17": "", "0:36": "", "0:37": "fuse", "0:38": "virtiofs", "9:99": "fuse",
	} {
		if got := remoteFUSE(strings.NewReader(mounts), device); got != want {
			t.Errorf("%s: %q; want %q", device, got, want)
		}
	}
	if err := onNetwork("/x", "NFS"); !strings.HasPrefix(err.Error(), "/x is on a network file system (NFS), ") {
		t.Error(err)
	}
}
