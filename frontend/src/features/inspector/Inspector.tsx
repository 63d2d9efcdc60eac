import { Rows3 } from 'lucide-react'
import { useEffect } from 'react'
import { useUntrusted } from '@/api/queries'
import type { PanelProps } from '@/app/panels'
import { Button } from '@/components/ui/Button'
import { Pane } from '@/components/ui/Pane'
import { TabList, TabPanel, Tabs } from '@/components/ui/Tabs'
import { open } from '@/features/editor/actions'
import { EditorPane } from '@/features/editor/EditorPane'
import { EditorTabs, PANEL } from '@/features/editor/EditorTabs'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useBuffers } from '@/stores/buffers'
import { useUi } from '@/stores/ui'
import { TABS } from './tabs'

export default function Inspector({ back }: PanelProps) {
  const t = useT()
  const chosen = useUi(ui => ui.tab)
  const file = useUi(ui => ui.file)
  const reveal = useUi(ui => ui.reveal)
  const untrusted = useUntrusted().data
  const comparing = useBuffers(s => s.comparing)
  const current = useBuffers(s => (file ? s.files[`${file}`] : undefined))
  const shown = TABS.find(({ id }) => id === chosen) ?? TABS[0]
  useEffect(() => {
    if (!file) return
    void open(file)
    // In a low window, the list of files may fill the pane.
    document.getElementById(PANEL)?.scrollIntoView({ block: 'nearest' })
  }, [file])
  return (
    <Pane
      id="pane-right"
      aria-label={t('inspector')}
      // The height of a list of files. On a phone it has the whole pane until a file is open.
      className={cn('low:overflow-y-auto [--list:34vh]', !file && 'max-md:[--list:none]')}
    >
      {back && (
        <Button size="small" look="ghost" className="mx-2 mt-2 self-start text-rag!" onClick={back.run}>
          <Rows3 size={13} aria-hidden />
          {back.words}
        </Button>
      )}
      {shown && (
        <Tabs
          value={shown.id}
          onChange={tab => useUi.setState({ tab })}
          className={cn('flex min-h-0 shrink-0 basis-auto flex-col', !file && 'max-md:shrink')}
        >
          <TabList
            label={t('inspector')}
            tabs={TABS.map(({ id, label }) => ({ value: id, words: t(label) }))}
            stretch
            className="m-2"
          />
          <TabPanel of={shown.id}>
            <shown.Content key={shown.id} />
          </TabPanel>
        </Tabs>
      )}
      <EditorTabs />
      <div
        id={PANEL}
        // In a low window the pane scrolls, and the text keeps a readable height.
        className={cn(
          'flex min-h-0 flex-1 flex-col',
          file ? 'low:min-h-[300px] low:shrink-0' : 'max-md:hidden',
        )}
        {...(file && { role: 'tabpanel', 'aria-label': file.shown })}
      >
        <EditorPane
          file={file}
          state={current}
          comparing={comparing}
          reveal={reveal}
          untrusted={untrusted?.some(({ path }) => path === `${file}`) ?? false}
        />
      </div>
    </Pane>
  )
}
