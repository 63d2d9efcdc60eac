import { mounted } from '@/lib/mounted'

export type MessageAction = 'copyMessage' | 'editMessage' | 'regenerate' | 'branchHere'

/** What can be done just now to each message on the page, by the message's id. */
export const messageActions = mounted<Partial<Record<MessageAction, (() => void) | null>>>()

/** The chains of steps on the page. */
export const chains = mounted<{ open: boolean; setOpen: (open: boolean) => void }>()
