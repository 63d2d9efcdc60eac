import type { Created } from '@/features/editor/actions'
import { useT } from '@/lib/i18n'
import type { FileRef, Root } from '@/lib/roots'
import { NameForm } from './NameForm'
import { fileNamed } from './names'

interface Props {
  /** The beginning of the name. */
  initial?: string
  root: Root
  open: boolean
  onOpenChange: (open: boolean) => void
  onCreate: (file: FileRef) => Promise<Created>
}

export default function NewFile({ root, initial = '', open, onOpenChange, onCreate }: Props) {
  const t = useT()
  const create = async (name: string) => {
    const file = fileNamed(root, name)
    if (!file) return t('badName')
    const result = await onCreate(file)
    if (result.kind === 'created') return null
    return result.kind === 'exists' ? t('exists') : t('notDone', { reason: result.reason })
  }
  return (
    <NameForm
      title={t('newFile')}
      label={t('newFileName')}
      initial={initial}
      placeholder="notes.md"
      button={t('create')}
      useful={() => true}
      onName={create}
      {...{ open, onOpenChange }}
    />
  )
}
