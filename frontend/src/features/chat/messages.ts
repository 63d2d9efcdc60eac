/** Keyboard actions on the open conversation. */
import { copyText } from '@/lib/clipboard'
import { t } from '@/lib/i18n'
import { useLive } from '@/stores/live'
import { toast } from '@/stores/toasts'
import { shownThread } from '@/thread/loaded'
import { chains } from './messageActions'

const FENCE = /^(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^\1/gm

/** The last code block in a text; null if there is none. */
export const lastCode = (text: string): string | null => [...text.matchAll(FENCE)].at(-1)?.[2] ?? null

export async function copyLastCode(session: string | null): Promise<void> {
  const entries = shownThread(useLive.getState().threads[session ?? ''])?.entries ?? []
  const texts = entries.flatMap(entry =>
    entry.kind === 'assistant' ? entry.segments.flatMap(s => (s.kind === 'text' ? [s.text] : [])) : [],
  )
  const code = texts.map(lastCode).findLast(found => found !== null)
  if (code == null) return toast(t('noCode'))
  if (await copyText(code)) toast(t('codeCopied'))
}

/** Collapses all open chains; if none is open, expands all. */
export function foldChains(): void {
  const all = chains.all()
  const open = all.filter(chain => chain.open)
  for (const chain of open.length > 0 ? open : all) chain.setOpen(open.length === 0)
}
