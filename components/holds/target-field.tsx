'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { searchAt } from '#components/frame/search-hits.ts'
import { useSettled } from '#components/frame/typed.ts'
import { Combobox } from '#components/ui/combobox.tsx'
import type { HoldKind } from '#lib/domains/holds/rules.ts'

const searchKind = { unit: 'unit', skill: 'skill', agent: 'agent', account: 'person', project: 'project' } as const

export interface HoldTarget {
  /** Null until a search result is chosen. The typed text is then the id. */
  targetId: string | null
  target: string
}
interface TargetFieldProps extends HoldTarget {
  kind: HoldKind
  onChange: (target: HoldTarget) => void
  error: string | undefined
}

/** The target of a legal hold: a search result of this kind, or a complete id, also of something that the search does not find. */
export function TargetField({ kind, targetId, target, onChange, error }: TargetFieldProps) {
  const t = useTranslations('holds')
  const q = useSettled(target.trim())
  const isAsked = targetId === null && q.length >= 2
  const { data } = useApiQuery(searchAt, { query: { q } }, { enabled: isAsked })
  const hits = isAsked ? (data?.data ?? []).filter((hit) => hit.kind === searchKind[kind]) : []
  return (
    <Combobox
      label={t('columns.covers')}
      placeholder={t(`new.hints.${kind}`)}
      text={target}
      onText={(text) => onChange({ targetId: null, target: text })}
      options={hits.map(({ id, title, detail }) => ({ value: id, title, text: detail ?? id }))}
      onChoose={({ value, title }) => onChange({ targetId: value, target: title })}
      error={error}
    />
  )
}
