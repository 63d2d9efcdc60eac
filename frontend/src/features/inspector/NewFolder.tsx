import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { FileRef, Root } from '@/lib/roots'
import { setFold } from '@/stores/folds'
import { NameForm } from './NameForm'
import { folderNamed } from './names'
import { foldId } from './useTree'

interface Props {
  root: Root
  /** The beginning of the name. */
  initial: string
  onOpenChange: (open: boolean) => void
  /** Resolves to null on success, else to the reason. */
  onCreate: (folder: FileRef) => Promise<string | null>
}

export default function NewFolder({ root, initial, onOpenChange, onCreate }: Props) {
  const t = useT()
  const create = async (name: string) => {
    const folder = folderNamed(root, name)
    if (!folder) return t('badName')
    const reason = await onCreate(folder)
    if (reason !== null) return t('notDone', { reason })
    const above = `${folder}`.slice(0, `${folder}`.lastIndexOf('/'))
    if (above !== root) setFold(foldId(above), true)
    return null
  }
  return (
    <NameForm
      open
      title={t('newFolder')}
      label={t('newFolderName')}
      initial={initial}
      placeholder="src/lib"
      button={t('create')}
      useful={name => name !== initial}
      onName={create}
      onOpenChange={onOpenChange}
    />
  )
}
