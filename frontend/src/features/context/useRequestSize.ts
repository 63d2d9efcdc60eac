import { useEffect, useState } from 'react'
import type { TokenCount } from '@/api/endpoints'
import { useTokens } from '@/api/queries'
import type { Chosen } from '@/api/types'
import { useDraftFiles } from '@/stores/attachments'
import { useNewChoice } from '@/stores/choice'
import { NEW, useDraft } from '@/stores/drafts'

/** Milliseconds without typing after which a draft is counted. */
const PAUSE = 400

/** A session's own choice is known to the server. */
const NONE: Chosen = {}

/** The size of the next request with what is in the composer; null until it is counted. */
export function useRequestSize(sessionId: string | null): TokenCount | null {
  const key = sessionId ?? NEW
  const typed = useDraft(key)
  const files = useDraftFiles(key)
  const [counted, setCounted] = useState({ key, message: typed })
  useEffect(() => {
    // An emptied composer is counted at once: its message was sent.
    const timer = setTimeout(() => setCounted({ key, message: typed }), typed === '' ? 0 : PAUSE)
    return () => clearTimeout(timer)
  }, [key, typed])
  const message = counted.key === key ? counted.message : typed
  const attachment_tokens = files.reduce((sum, file) => sum + (file.tokens ?? 0), 0)
  const fresh = useNewChoice(s => s.chosen)
  const place = useNewChoice(s => s.projectId)
  const chosen = sessionId === null ? fresh : NONE
  const project_id = sessionId === null ? place : null
  return useTokens(sessionId, { chosen, project_id, message, attachment_tokens }).data ?? null
}

/** How full the context window is, from 0 to 1; 1 as soon as a message is left out. */
export const fullness = ({ total_tokens, limit_tokens, left_out }: TokenCount): number =>
  left_out > 0 ? 1 : limit_tokens > 0 ? Math.min(1, total_tokens / limit_tokens) : 0
