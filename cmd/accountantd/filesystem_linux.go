// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fuse is what every file system in user space says it is, whatever lies behind it.
const fuse = unix.FUSE_SUPER_MAGIC

// elsewhere are the file systems whose files other machines can change, by their number in
// statfs(2). Those without a constant are from the kernel's or their own sources.
var elsewhere = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC: "SMB (CIFS)",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.NCP_SUPER_MAGIC:  "NCP",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.AFS_FS_MAGIC:     "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.V9FS_MAGIC:       "9P",
	0x7461636f:            "OCFS2",
	0x01161970:            "GFS2",
	0x0bd00bd0:            "Lustre",
	0x47504653:            "GPFS",
	0x19830326:            "BeeGFS",
	0xaad7aaea:            "PanFS",
	0x786f4256:            "a shared folder of VirtualBox",
	0xbacbacbc:            "a shared folder of VMware",
	0x7c7c6673:            "a shared folder of Parallels",
}

// checkFileSystem returns an error if dir is on a file system on which locks and syncing cannot
// be relied on.
func checkFileSystem(dir string) error {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	kind := uint32(about.Type) // its type differs between architectures
	name := elsewhere[kind]
	if kind == fuse {
		mounts, err := os.Open("/proc/self/mountinfo")
		if err != nil {
			return err
		}
		defer mounts.Close() //nolint:errcheck // it was only read
		var file unix.Stat_t
		if err := unix.Stat(dir, &file); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		name = remoteFUSE(mounts, fmt.Sprintf("%d:%d", unix.Major(file.Dev), unix.Minor(file.Dev)))
	}
	if name == "" {
		return nil
	}
	return onNetwork(dir, name)
}

// remoteFUSE returns the name of the file system in user space that is mounted as a device
// ("major:minor"), or "" if it is one of those that are known to keep its files on this machine.
func remoteFUSE(mounts io.Reader, device string) string {
	name := "fuse"
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		// proc_pid_mountinfo(5): id parent major:minor root point options [fields] - type source options
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if kind := strings.Fields(after); len(fields) > 2 && fields[2] == device && len(kind) > 0 {
			name = kind[0]
		}
	}
	switch name {
	case "fuseblk", "fuse.fuse-overlayfs": // a disk, and the files of a container
		return ""
	}
	return name
}
