import { useT } from '@/lib/i18n'
import type { FileRef } from '@/lib/roots'
import { NameForm } from './NameForm'
import { nameIn, renamed } from './names'

interface Props {
  file: FileRef
  onOpenChange: (open: boolean) => void
  /** Resolves to null on success, else to the reason. */
  onRename: (to: FileRef) => Promise<string | null>
}

export default function RenameFile({ file, onOpenChange, onRename }: Props) {
  const t = useT()
  const rename = async (name: string) => {
    const to = renamed(file, name)
    return to === null ? t('badName') : onRename(to)
  }
  return (
    <NameForm
      open
      title={t('renameFile', { path: file.shown })}
      label={t('renameTo')}
      initial={nameIn(file)}
      button={t('rename')}
      useful={name => renamed(file, name) !== file}
      onName={rename}
      onOpenChange={onOpenChange}
    />
  )
}
