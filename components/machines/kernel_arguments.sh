# Gives the kernel its arguments, and reboots once for them, before anything else of the first boot.
marker=/var/lib/foresite-kernel-arguments
missing=''
for each in $arguments; do
  case " $(cat /proc/cmdline) " in *" $each "*) ;; *) missing="$missing $each" ;; esac
done
if [ -n "$missing" ] && [ -e "$marker" ]; then
  echo "foresite-kernel-arguments: the kernel runs without$missing" >&2
elif [ -n "$missing" ]; then
  : >"$marker"
  for folder in /boot /boot/efi; do mountpoint -q "$folder" || mount "$folder" 2>/dev/null || :; done
  if command -v grubby >/dev/null; then
    grubby --update-kernel=ALL --args="$arguments"
  else
    mkdir -p /etc/default/grub.d
    printf 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"\n' "$arguments" >/etc/default/grub.d/99-zz-foresite.cfg
    update-grub
  fi
  sync
  systemctl reboot
  sleep 600
fi
