import type { Created } from '@/features/editor/actions'
import { useT } from '@/lib/i18n'
import { createsSkills, type Root } from '@/lib/roots'
import { NameForm } from './NameForm'
import { type Draft, draftOf } from './names'

interface Props {
  root: Root
  open: boolean
  onOpenChange: (open: boolean) => void
  onCreate: (draft: Draft) => Promise<Created>
}

export default function NewFile({ root, open, onOpenChange, onCreate }: Props) {
  const t = useT()
  const skill = createsSkills(root)
  const create = async (name: string) => {
    const draft = draftOf(root, name)
    if (!draft) return t('badName')
    const result = await onCreate(draft)
    if (result.kind === 'created') return null
    return result.kind === 'exists' ? t('exists') : t('notDone', { reason: result.reason })
  }
  return (
    <NameForm
      title={t(skill ? 'newSkill' : 'newFile')}
      label={t(skill ? 'newSkillName' : 'newFileName')}
      placeholder={skill ? 'my-skill' : 'notes.md'}
      button={t('create')}
      useful={() => true}
      onName={create}
      {...{ open, onOpenChange }}
    />
  )
}
