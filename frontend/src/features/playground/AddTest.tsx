import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import { testsOf } from '@/api/retrieval'
import type { Hit } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { openPassage } from '@/features/editor/passage'
import { useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { addTest } from './testFile'

interface Props {
  query: string
  folder: SearchFolder
  hit: Hit
}

/** Adds this passage to the retrieval tests as the answer to the question. */
export function AddTest({ query, folder, hit }: Props) {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const add = async () => {
    setBusy(true)
    const result = await addTest(folder, query, hit)
    setBusy(false)
    if (result.kind === 'failed') return toast(t('notDone', { reason: result.reason }), { tone: 'bad' })
    const { line } = result
    const place = { path: `${testsOf(folder)}`, lines: [line, line] as const }
    toast(t(result.kind === 'added' ? 'testAdded' : 'testKnown', { path: place.path, line: `${line}` }), {
      action: { label: t('show'), run: () => void openPassage(place) },
    })
  }
  return (
    <Button size="small" disabled={busy} onClick={() => void add()}>
      <ListChecks size={13} aria-hidden />
      {t('addTest')}
    </Button>
  )
}
