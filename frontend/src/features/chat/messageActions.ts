/** What the messages on the page offer to the keyboard. */
import { mounted } from '@/lib/mounted'

export type MessageAction = 'copyMessage' | 'editMessage' | 'regenerate' | 'branchHere' | 'pinMessage'

/** The available actions of each message on the page, by message id. */
export const messageActions = mounted<Partial<Record<MessageAction, (() => void) | null>>>()

const shown = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('[role=log] article')]
const placeOf = (article: HTMLElement): number => Number(article.getAttribute('aria-posinset'))

/** The message before or after the focused one; from elsewhere in the chat, the last one. */
export function neighbour(by: 1 | -1): HTMLElement | null {
  const all = shown().sort((a, b) => placeOf(a) - placeOf(b))
  const at = all.indexOf(document.activeElement as HTMLElement)
  return (at < 0 ? all.at(-1) : all[at + by]) ?? null
}

/** An action of the focused message; null if it is not available. */
export function actionOfFocused(action: MessageAction): (() => void) | null {
  const article = document.activeElement?.closest<HTMLElement>('[role=log] article')
  return messageActions.get(article?.dataset.message ?? '')?.[action] ?? null
}

/** The step chains on the page. */
export const chains = mounted<{ open: boolean; setOpen: (open: boolean) => void }>()
