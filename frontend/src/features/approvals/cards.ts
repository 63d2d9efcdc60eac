import { mounted } from '@/lib/mounted'

/** The card of a pending call on the page. */
interface ApprovalCardHandle {
  element: () => HTMLElement | null
  /** The decision that its open form submits; null while no form is open. */
  form: 'approve' | 'deny' | null
  /** Submits the open form. */
  submit: () => void
}

/** The cards on the page, by approval id. */
export const approvalCards = mounted<ApprovalCardHandle>()

/** The bar below the cards of a step with several pending calls. */
interface StepBarHandle {
  /** Null while fewer than two calls wait. */
  element: () => HTMLElement | null
  allow: () => void
}

/** By work id. */
export const stepBars = mounted<StepBarHandle>()
