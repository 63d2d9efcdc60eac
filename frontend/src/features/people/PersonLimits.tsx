import { peopleKeys } from '@/api/multi'
import { changePerson } from '@/api/people'
import { refresh } from '@/api/queries'
import type { PersonLimits as Limits, Person } from '@/api/types'
import { accountReason } from '@/features/auth/refusal'
import { LimitsForm } from '@/features/usage/LimitsForm'
import { useT } from '@/lib/i18n'

/** Sets the most that a person may use, in place of the limits of the server. */
export function PersonLimits({ person, onClose }: { person: Person; onClose: () => void }) {
  const t = useT()
  const save = async (limits: Limits | null) => {
    try {
      await changePerson(person.id, { limits })
      refresh(peopleKeys.people)
      return null
    } catch (error) {
      return accountReason(error)
    }
  }
  return (
    <LimitsForm
      title={t('personLimitsTitle', { name: person.username })}
      hint={t('personLimitsHint')}
      limits={person.limits}
      clear={t('personLimitsServer')}
      onSave={save}
      onClose={onClose}
    />
  )
}
