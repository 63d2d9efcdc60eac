import { Wrench } from 'lucide-react'
import { useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { chooseTool } from '@/api/people'
import { useTools } from '@/api/peopleQueries'
import { queryClient } from '@/api/queries'
import type { ListedTool } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { ErrorText } from '@/components/ui/ErrorText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { Switch } from '@/components/ui/Switch'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'

const CATEGORIES = {
  code: 'toolCategoryCode',
  crawler: 'toolCategoryWeb',
  weather: 'toolCategoryWeather',
  data: 'toolCategoryData',
  file: 'toolCategoryFile',
  knowledge: 'toolCategoryKnowledge',
  task: 'toolCategoryTask',
} as const satisfies Record<string, Key>

/** Which tools the model can use for this person, within what the administrator allows. */
export function OwnTools() {
  const t = useT()
  const { data: tools, error } = useTools()
  const [problem, setProblem] = useState<string | null>(null)
  if (!tools) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={3} />
  const change = async (name: string, enabled: boolean) => {
    setProblem(null)
    try {
      queryClient.setQueryData(peopleKeys.tools, await chooseTool(name, enabled))
    } catch (cause) {
      setProblem(reasonOf(cause))
    }
  }
  return (
    <div className="space-y-2">
      <p className="text-fg-2 text-small">{t('ownToolsHint')}</p>
      <ul aria-label={t('ownTools')} className="divide-y rounded-lg border bg-card px-3">
        {tools
          .filter(({ category }) => category)
          .map(tool => (
            <Row key={tool.name} tool={tool} onChange={on => void change(tool.name, on)} />
          ))}
      </ul>
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}

function Row({ tool, onChange }: { tool: ListedTool; onChange: (on: boolean) => void }) {
  const t = useT()
  const { name, category, enabled, forbidden } = tool
  const words = CATEGORIES[category as keyof typeof CATEGORIES]
  return (
    <li className="flex flex-wrap items-center gap-x-2 gap-y-1 py-2 text-small">
      <code className="font-mono text-[12px]">{name}</code>
      {words && <Badge>{t(words)}</Badge>}
      {forbidden && <span className="text-fg-3">{t('ownToolForbidden')}</span>}
      <span className="ms-auto">
        <Switch
          on={enabled}
          disabled={forbidden}
          label={t('ownToolSwitch', { name })}
          icon={<Wrench size={13} aria-hidden />}
          onChange={onChange}
        >
          {enabled ? t('ownToolOn') : t('ownToolOff')}
        </Switch>
      </span>
    </li>
  )
}
