import { useT } from '@/lib/i18n'
import { NameForm } from './NameForm'
import { nameIn, renamed } from './names'

interface Props {
  path: string
  onOpenChange: (open: boolean) => void
  /** Answers why it could not be done, or null. */
  onRename: (to: string) => Promise<string | null>
}

export default function RenameFile({ path, onOpenChange, onRename }: Props) {
  const t = useT()
  const rename = async (name: string) => {
    const to = renamed(path, name)
    return to === null ? t('badName') : onRename(to)
  }
  return (
    <NameForm
      open
      title={t('renameFile', { path })}
      label={t('renameTo')}
      initial={nameIn(path)}
      button={t('rename')}
      useful={name => renamed(path, name) !== path}
      onName={rename}
      onOpenChange={onOpenChange}
    />
  )
}
