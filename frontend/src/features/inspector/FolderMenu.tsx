import { Ellipsis, FilePlus2, FolderPlus, Pencil, Trash2, Upload } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import type { FileRef } from '@/lib/roots'

export interface FolderActions {
  onNewFile: (folder: FileRef) => void
  onNewFolder: (folder: FileRef) => void
  onUpload: (folder: FileRef) => void
  onRenameFolder: (folder: FileRef) => void
  onDeleteFolder: (folder: FileRef) => void
}

interface Props extends FolderActions {
  folder: FileRef
  tabIndex?: number
}

/** The actions on a listed folder of a project. The row around it is the `group`. */
export function FolderMenu({ folder, tabIndex, ...actions }: Props) {
  const t = useT()
  const icon = { size: 14, 'aria-hidden': true }
  return (
    <Menu
      trigger={
        <IconButton
          label={t('fileMenu', { path: folder.shown })}
          size="smallIcon"
          tabIndex={tabIndex}
          className="pointer-fine:absolute pointer-fine:end-1 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
        >
          <Ellipsis size={15} aria-hidden />
        </IconButton>
      }
    >
      <MenuItem icon={<FilePlus2 {...icon} />} onSelect={() => actions.onNewFile(folder)}>
        {t('newFile')}
      </MenuItem>
      <MenuItem icon={<FolderPlus {...icon} />} onSelect={() => actions.onNewFolder(folder)}>
        {t('newFolder')}
      </MenuItem>
      <MenuItem icon={<Upload {...icon} />} onSelect={() => actions.onUpload(folder)}>
        {t('uploadAnyFiles')}
      </MenuItem>
      <MenuItem icon={<Pencil {...icon} />} onSelect={() => actions.onRenameFolder(folder)}>
        {t('rename')}
      </MenuItem>
      <MenuItem icon={<Trash2 {...icon} />} onSelect={() => actions.onDeleteFolder(folder)} danger>
        {t('delete')}
      </MenuItem>
    </Menu>
  )
}
