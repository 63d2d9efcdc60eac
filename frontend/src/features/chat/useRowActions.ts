import { useMemo } from 'react'
import { useCommandContext } from '@/app/commandContext'
import {
  branchOff,
  continueAnswer,
  discard,
  resend,
  resendFrom,
  setPinned,
  switchBranch,
  undo,
} from '@/app/threads'
import { reapply } from '@/app/withdraw'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { openDialog } from '@/stores/ui'
import type { RowActions } from './rows'

const review = (sessionId: string, workId: string, path: string): Promise<void> =>
  import('@/features/editor/review').then(
    ({ reviewFile }) => reviewFile({ sessionId, workId, path }),
    () => toast(t('partFailed'), { tone: 'bad' }),
  )

/** What a person can do with the messages of a conversation. The object is stable while the conversation is the same. */
export function useRowActions(sessionId: string | null): RowActions {
  const { navigate } = useCommandContext()
  return useMemo<RowActions>(
    () => ({
      onContinue: beyond => sessionId && void continueAnswer(sessionId, beyond),
      onResendFrom: (from, said) => sessionId && void resendFrom(sessionId, from, said),
      onSwitchBranch: (from, to) => sessionId && void switchBranch(sessionId, from, to),
      onBranch: workId =>
        sessionId && void branchOff(sessionId, workId).then(id => id && navigate(`/s/${id}`)),
      onPin: (id, pinned) => sessionId && void setPinned(sessionId, id, pinned),
      onReview: (workId, path) => sessionId && void review(sessionId, workId, path),
      onUndo: change => sessionId && void undo(sessionId, change.callId),
      onUndoAll: workId => openDialog({ name: 'undo', work: workId }),
      onWithdraw: workId => openDialog({ name: 'withdraw', work: workId }),
      onReapply: workId => sessionId && void reapply(sessionId, workId),
      onResend: item => sessionId && resend(sessionId, item),
      onDiscard: key => sessionId && discard(sessionId, key),
    }),
    [sessionId, navigate],
  )
}
