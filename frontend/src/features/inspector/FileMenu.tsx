import { Download, Ellipsis, Link, Pencil, Trash2 } from 'lucide-react'
import { fileAddress } from '@/app/useFileAddress'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { downloadBytes } from '@/features/editor/bytes'
import { copyText } from '@/lib/clipboard'
import { useT } from '@/lib/i18n'
import { type FileRef, isProject } from '@/lib/roots'
import { toast } from '@/stores/toasts'

export interface FileActions {
  onRename: (file: FileRef) => void
  onDelete: (file: FileRef) => void
}

/** The actions on a listed file, besides opening it; those that change it may be missing. The row is the `group`. */
interface Props extends Partial<FileActions> {
  file: FileRef
  tabIndex?: number
}

export function FileMenu({ file, tabIndex, onRename, onDelete }: Props) {
  const t = useT()
  return (
    <Menu
      trigger={
        <IconButton
          label={t('fileMenu', { path: file.shown })}
          size="smallIcon"
          tabIndex={tabIndex}
          className="pointer-fine:absolute pointer-fine:end-1 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
        >
          <Ellipsis size={15} aria-hidden />
        </IconButton>
      }
    >
      {onRename && (
        <MenuItem icon={<Pencil size={14} aria-hidden />} onSelect={() => onRename(file)}>
          {t('rename')}
        </MenuItem>
      )}
      <MenuItem
        icon={<Link size={14} aria-hidden />}
        onSelect={() => void copyText(fileAddress(file)).then(done => done && toast(t('copied')))}
      >
        {t('copyLink')}
      </MenuItem>
      {isProject(file.root) && (
        <MenuItem icon={<Download size={14} aria-hidden />} onSelect={() => downloadBytes(file)}>
          {t('downloadFile')}
        </MenuItem>
      )}
      {onDelete && (
        <MenuItem icon={<Trash2 size={14} aria-hidden />} onSelect={() => onDelete(file)} danger>
          {t('delete')}
        </MenuItem>
      )}
    </Menu>
  )
}
