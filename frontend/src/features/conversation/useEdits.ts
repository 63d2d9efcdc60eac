import { useState } from 'react'
import type { Conversation } from '@/api/types'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import type { Thread } from '@/thread/model'
import { saveConversation } from './save'
import { changed, changeOf, type Field, problemsIn, refusedField, type Values, valuesOf } from './values'

type Problem = { field: Field | null; reason: string }

/** The edits of a conversation until they are saved. What somebody else changes meanwhile shows where nothing is edited. */
export function useEdits(conversation: Pick<Conversation, 'id' | 'title'>, thread: Thread) {
  const t = useT()
  const [typed, setTyped] = useState<Partial<Values>>({})
  const [state, setState] = useState<'edits' | 'saving' | 'saved'>('edits')
  const [refused, setRefused] = useState<Problem | null>(null)
  const saved = valuesOf(conversation.title, thread.chosen, thread.projectId)
  const edits = changed(typed, saved)
  const wrong = problemsIn(edits)
  const problemOf = (field: Field | null): string | null => {
    const own = field && wrong[field]
    return own ? t(own) : refused && refused.field === field ? refused.reason : null
  }
  return {
    values: { ...saved, ...edits },
    edits,
    saved,
    state,
    problemOf,
    canSave: Object.keys(edits).length > 0 && Object.keys(wrong).length === 0 && state !== 'saving',
    edit: (field: Field, text: string) => {
      setTyped({ ...typed, [field]: text })
      setState('edits')
      if (refused?.field === field || refused?.field === null) setRefused(null)
    },
    discard: () => {
      setTyped({})
      setRefused(null)
    },
    /** Returns the field that was refused; null if there is none. */
    save: async (): Promise<Field | null> => {
      const change = changeOf(edits)
      setState('saving')
      setRefused(null)
      try {
        await saveConversation(conversation.id, change)
        // What was typed meanwhile stays.
        setTyped(now =>
          Object.fromEntries(Object.entries(now).filter(([field, text]) => edits[field as Field] !== text)),
        )
        setState('saved')
        return null
      } catch (error) {
        const field = refusedField(error, change)
        setRefused({ field, reason: reasonOf(error) })
        setState('edits')
        return field
      }
    },
  }
}

export type Edits = ReturnType<typeof useEdits>
