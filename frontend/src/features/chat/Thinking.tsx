import { Brain } from 'lucide-react'
import { Markdown } from '@/components/markdown/Markdown'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'

export function Thinking({ id, text, streaming }: { id: string; text: string; streaming: boolean }) {
  const t = useT()
  const [open, setOpen] = useFold(id, false)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="chain rounded-lg border bg-pane-2 text-[13px]"
      summaryClass="rounded-lg px-3 py-2 text-fg-2 hover:bg-hover"
      summary={
        <>
          <Brain size={14} aria-hidden />
          <span className="shrink-0 font-medium">{t('thinking')}</span>
          <span className="min-w-0 flex-1 truncate text-fg-3">
            {!open && (streaming ? lastLine(text) : firstLine(text))}
          </span>
        </>
      }
    >
      <div className="px-3 pb-2.5 text-fg-2">
        <Markdown text={text} streaming={streaming} />
      </div>
    </Disclosure>
  )
}

const firstLine = (text: string): string => text.trimStart().split('\n', 1)[0] ?? ''
const lastLine = (text: string): string => text.trimEnd().slice(text.trimEnd().lastIndexOf('\n') + 1)
