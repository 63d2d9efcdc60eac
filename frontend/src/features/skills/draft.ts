/** The skill that is being described; closing the dialog keeps it until it is created. */
import { create } from 'zustand'

export interface SkillDraft {
  name: string
  description: string
  instructions: string
}

const EMPTY: SkillDraft = { name: '', description: '', instructions: '' }

export const useSkillDraft = create<{ draft: SkillDraft }>(() => ({ draft: EMPTY }))

export const changeSkillDraft = (patch: Partial<SkillDraft>): void =>
  useSkillDraft.setState(({ draft }) => ({ draft: { ...draft, ...patch } }))

export const clearSkillDraft = (): void => useSkillDraft.setState({ draft: EMPTY })
