import { Ellipsis, Link, Pencil, Trash2 } from 'lucide-react'
import { fileAddress } from '@/app/useFileAddress'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { copyText } from '@/lib/clipboard'
import { useT } from '@/lib/i18n'
import { toast } from '@/stores/toasts'

export interface FileActions {
  onRename: (path: string) => void
  onDelete: (path: string) => void
}

/** The actions on a listed file, besides opening it. The row around it is the `group`. */
interface Props extends FileActions {
  path: string
  tabIndex?: number
}

export function FileMenu({ path, tabIndex, onRename, onDelete }: Props) {
  const t = useT()
  return (
    <Menu
      trigger={
        <IconButton
          label={t('fileMenu', { path })}
          size="smallIcon"
          tabIndex={tabIndex}
          className="pointer-fine:absolute pointer-fine:end-1 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
        >
          <Ellipsis size={15} aria-hidden />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil size={14} aria-hidden />} onSelect={() => onRename(path)}>
        {t('rename')}
      </MenuItem>
      <MenuItem
        icon={<Link size={14} aria-hidden />}
        onSelect={() => void copyText(fileAddress(path)).then(done => done && toast(t('copied')))}
      >
        {t('copyLink')}
      </MenuItem>
      <MenuItem icon={<Trash2 size={14} aria-hidden />} onSelect={() => onDelete(path)} danger>
        {t('delete')}
      </MenuItem>
    </Menu>
  )
}
