'use client'

import { useTranslations } from 'next-intl'
import { useTransition } from 'react'
import { useQueryState } from '#components/frame/query-state.ts'
import { Select } from '#components/ui/field.tsx'

/** Selects whose data the page shows: the person with all their agents, or one agent. The address holds the choice. */
export function AgentSelect({ agents }: { agents: readonly { id: string; name: string }[] }) {
  const t = useTranslations('inventory')
  const label = useTranslations('myPrivacy.filter')('label')
  const [isChanging, startTransition] = useTransition()
  const [agent, setAgent] = useQueryState('agent', { shallow: false, history: 'push', startTransition })
  return (
    <Select
      label={label}
      value={agent ?? ''}
      aria-busy={isChanging}
      data-filter
      onChange={({ target }) => void setAgent(target.value === '' ? null : target.value)}
      options={[{ value: '', title: t('everything') }, ...agents.map(({ id, name }) => ({ value: id, title: name }))]}
      className="sm:max-w-96"
    />
  )
}
