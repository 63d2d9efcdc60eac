import { useEffect, useState, useSyncExternalStore } from 'react'
import { ErrorText } from '@/components/ui/ErrorText'
import { Pending } from '@/components/ui/Skeleton'
import { type Drawn, draw, LONGEST } from '@/diagram/draw'
import { type Translate, useT } from '@/lib/i18n'
import '@/lib/later'
import { pictureOf } from './preview'

const root = document.documentElement
const isDark = (): boolean => root.dataset.theme === 'dark'
function onTheme(listener: () => void) {
  const observer = new MutationObserver(listener)
  observer.observe(root, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** The picture of a diagram, or its code with the reason why there is none. */
export default function Diagram({ code }: { code: string }) {
  const t = useT()
  const dark = useSyncExternalStore(onTheme, isDark)
  const [drawn, setDrawn] = useState<Drawn | null>(null)
  useEffect(() => {
    const abort = new AbortController()
    setDrawn(null)
    void draw(code, dark, abort).then(now => abort.signal.aborted || setDrawn(now))
    return () => abort.abort()
  }, [code, dark])
  if (!drawn) return <Pending />
  if (drawn.kind !== 'drawn')
    return (
      <>
        <ErrorText className="border-b p-3">{reasonOf(drawn, code, t)}</ErrorText>
        <pre tabIndex={0}>{code}</pre>
      </>
    )
  return (
    <div className="scroll max-h-[70vh] p-3" tabIndex={0} role="group" aria-label={t('diagram')}>
      <img
        src={pictureOf(drawn.svg)}
        alt={t('previewAlt')}
        width={drawn.width}
        height={drawn.height}
        className="mx-auto block h-auto max-w-full"
      />
    </div>
  )
}

const firstLine = (text: string): string => (text.split('\n')[0] ?? '').replace(/:$/, '')

function reasonOf(drawn: Exclude<Drawn, { kind: 'drawn' }>, code: string, t: Translate): string {
  if (drawn.kind === 'too_long') return t('diagramTooLong', { n: LONGEST })
  if (drawn.kind === 'timeout') return t('diagramTimeout')
  // Mermaid counts lines without a front matter and comments.
  const line = /^---|%%/m.test(code) ? null : /\bline:? (\d+)/i.exec(drawn.reason)?.[1]
  return line ? t('diagramWrongLine', { line }) : t('diagramWrong', { reason: firstLine(drawn.reason) })
}
