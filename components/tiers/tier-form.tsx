'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { showToast } from '#components/ui/toast.ts'
import { tierLimits, tiers } from '#lib/domains/tokens/rules.ts'
import { type AgentUse, editAgentAt, ofTokens } from './endpoints.ts'
import { agentLimit, editOf, type TypedLimits } from './limits.ts'

type Agent = Pick<AgentUse, 'agent_id' | 'tier' | 'limits' | 'custom_limits' | 'active_tokens'>
const asTyped = (limit: number | null | undefined): string => (limit == null ? '' : String(limit))

/** The consequences of an edit, before it is saved. */
function Consequences({ agent, typed }: { agent: Agent; typed: TypedLimits }) {
  const t = useTranslations('tiers')
  const edit = editOf(typed)
  if (!edit) return null
  const { tokens, batch, unitBytes, exportsPerDay } = tierLimits[typed.tier]
  const { reads_per_minute: reads, writes_per_minute: writes } = agent.limits
  return (
    <>
      <p>{t('agent.from', { tier: t(`tiers.${agent.tier}`), reads, writes })}</p>
      <p>
        {t('agent.to', {
          tier: t(`tiers.${typed.tier}`),
          reads: edit.reads,
          writes: edit.writes,
          tokens,
          batch,
          size: unitBytes / 1024,
          exports: exportsPerDay ?? -1,
        })}
      </p>
      {agent.custom_limits && typed.tier !== 'enterprise' && <p>{t('agent.clears')}</p>}
      {agent.active_tokens > tokens && <p>{t('agent.tooMany', { active: agent.active_tokens, allowed: tokens })}</p>}
      {(edit.reads < reads || edit.writes < writes) && <p>{t('agent.lower')}</p>}
    </>
  )
}

/** Changes the tier and limits of an agent and shows the consequences first. */
export function TierForm({ agent }: { agent: Agent }) {
  const t = useTranslations('tiers')
  const { agent_id: id, tier, custom_limits: own } = agent
  const inForce: TypedLimits = {
    tier,
    reads: asTyped(own?.reads_per_minute),
    writes: asTyped(own?.writes_per_minute),
  }
  const { draft, change, clear } = useDraft<{ typed: TypedLimits | null }>(`tier:${id}`, { typed: null })
  const [isOpen, setIsOpen] = useState(false)
  const edit = useApiMutation(editAgentAt, { touches: ofTokens })
  const typed = draft.typed ?? inForce
  const wanted = editOf(typed)
  const isSame = JSON.stringify(wanted) === JSON.stringify(editOf(inForce))
  const type = (changes: Partial<TypedLimits>) => change({ typed: { ...typed, ...changes } })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!wanted || isSame) return
    setIsOpen(true)
  }
  return (
    <form onSubmit={submit} className="grid max-w-3xl gap-4">
      <div className="grid gap-4 sm:grid-cols-3">
        <Select
          label={t('agents.tier')}
          hint={typed.tier === 'enterprise' ? undefined : t('agent.ownOnly')}
          value={typed.tier}
          onChange={({ target }) => type({ tier: tiers.find((one) => one === target.value) ?? tier })}
          options={tiers.map((one) => ({ value: one, title: t(`tiers.${one}`) }))}
        />
        {typed.tier === 'enterprise' &&
          (['reads', 'writes'] as const).map((kind) => (
            <Field
              key={kind}
              label={t(`agent.${kind}_per_minute`)}
              hint={t('agent.ownHint', { limit: tierLimits.enterprise[kind] })}
              error={agentLimit(typed[kind]) === undefined ? t('agent.wrong') : undefined}
              inputMode="numeric"
              autoComplete="off"
              maxLength={9}
              value={typed[kind]}
              onChange={({ target }) => type({ [kind]: target.value })}
            />
          ))}
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" aria-disabled={!wanted || isSame}>
          {t('agent.change')}
        </Button>
      </div>
      <Confirm
        open={isOpen}
        onOpenChange={setIsOpen}
        title={t('agent.changeTitle', { id })}
        consequences={<Consequences agent={agent} typed={typed} />}
        action={t('agent.change')}
        tone="main"
        change={edit}
        onConfirm={() => {
          if (!wanted) return
          edit.begin({ params: { id }, body: wanted.body }, () => {
            clear()
            setIsOpen(false)
            showToast({ title: t('agent.changed') })
          })
        }}
      />
    </form>
  )
}
