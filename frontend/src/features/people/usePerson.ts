import { useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { changePerson, resetPassword } from '@/api/people'
import { refresh } from '@/api/queries'
import type { Person } from '@/api/types'
import { accountReason } from '@/features/auth/refusal'

/** What an administrator can do with an account. */
export type Act = 'disable' | 'enable' | 'promote' | 'demote' | 'reset' | 'limits'

const CHANGES = {
  disable: { is_active: false },
  enable: { is_active: true },
  promote: { role: 'admin' },
  demote: { role: 'user' },
} as const

/** Asked before they are done, or done by a form. */
const GRAVE: readonly Act[] = ['disable', 'promote', 'reset', 'limits']

export function usePerson({ id }: Person) {
  const [asking, setAsking] = useState<Act | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  /** The new password, after a reset. */
  const [password, setPassword] = useState<string | null>(null)
  const act = async (what: Exclude<Act, 'limits'>) => {
    setAsking(null)
    setProblem(null)
    try {
      if (what === 'reset') setPassword(await resetPassword(id))
      else await changePerson(id, CHANGES[what])
    } catch (error) {
      setProblem(accountReason(error))
    }
    refresh(peopleKeys.people)
  }
  const choose = (what: Act) => {
    setPassword(null)
    setProblem(null)
    if (what === 'limits' || GRAVE.includes(what)) setAsking(what)
    else void act(what)
  }
  return { asking, problem, password, choose, act, cancel: () => setAsking(null) }
}
