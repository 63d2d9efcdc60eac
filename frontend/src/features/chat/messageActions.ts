import { mounted } from '@/lib/mounted'

export type MessageAction = 'copyMessage' | 'editMessage' | 'regenerate' | 'branchHere'

/** The available actions of each message on the page, by message id. */
export const messageActions = mounted<Partial<Record<MessageAction, (() => void) | null>>>()

/** The step chains on the page. */
export const chains = mounted<{ open: boolean; setOpen: (open: boolean) => void }>()
