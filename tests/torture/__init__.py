"""Faults in anger: kills, full disks, damaged files, closed streams and limits, by the thousand."""
