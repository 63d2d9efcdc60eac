import { mounted } from '@/lib/mounted'

/** A call that waits for an answer, as it stands on the page. */
interface ApprovalCardHandle {
  element: () => HTMLElement | null
  /** What its open form answers; null while none is open. */
  form: 'approve' | 'deny' | null
  /** Answers with the open form. */
  submit: () => void
}

/** The cards on the page, by the id of the approval. */
export const approvalCards = mounted<ApprovalCardHandle>()
