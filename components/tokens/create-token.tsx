'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { issueOf } from '#components/frame/faults.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Checkbox, Field, Select } from '#components/ui/field.tsx'
import type { TokenScope } from '#lib/domains/tokens/rules.ts'
import { tokenFilterParsers } from './filters.ts'
import { KeyDialog } from './key-dialog.tsx'
import { createTokenAt, type TokenAgent, tokenPaths } from './tokens.ts'

const expiries = ['7', '30', '90', '365', 'never', 'day'] as const
type Expiry = (typeof expiries)[number]
/** The allowed lifetimes of a token with scope `admin`. */
const adminExpiries = ['7', '30', '90', 'day'] as const
const fresh = { agent: '', name: '', read: true, write: false, privacy: false, admin: false, expiry: '90', day: '' }
type TokenDraft = typeof fresh

/** The end of the token's last day, in the reader's time zone. */
const endOf = (day: string): Date => new Date(`${day}T23:59:59.999`)
const expiryOf = (expiry: string, day: string) => {
  if (expiry === 'never') return {}
  return expiry === 'day' ? { expires_at: endOf(day).toISOString() } : { expires_in_days: Number(expiry) }
}

interface CreateTokenProps {
  agents: readonly TokenAgent[]
  isAdmin: boolean
}
/** Creates a token for one of the person's agents, with scopes and expiry. Its key is shown once. */
export function CreateToken({ agents, isAdmin }: CreateTokenProps) {
  const t = useTranslations('tokens')
  const [isOpen, setOpen] = useState(false)
  const { draft, change, clear } = useDraft('tokens.create', fresh)
  const create = useApiMutation(createTokenAt, { touches: tokenPaths })
  const [filters] = useQueryStates(tokenFilterParsers)
  const agent = agents.find(({ id }) => id === (draft.agent || filters.agent)) ?? agents[0]
  const scopes: readonly TokenScope[] = isAdmin ? ['read', 'write', 'privacy', 'admin'] : ['read', 'write', 'privacy']
  const wanted = scopes.filter((scope) => draft[scope])
  const offered: readonly Expiry[] = wanted.includes('admin') ? adminExpiries : expiries
  const expiry = offered.find((one) => one === draft.expiry) ?? '90'
  const isDayGood = expiry !== 'day' || (draft.day !== '' && endOf(draft.day) > new Date())
  const { problem } = create
  const isFull = problem?.code === 'conflict'
  const isNameBad = issueOf(problem, 'name') !== undefined
  const made = create.data?.data
  const leave = () => {
    setOpen(false)
    create.reset()
  }
  if (!agent) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('create')}</Button>
      {made && (
        <KeyDialog
          apiKey={made.api_key || undefined}
          title={t('key.title')}
          replayed={t('key.replayed')}
          onClose={leave}
        />
      )}
      <Confirm
        open={isOpen && !made}
        onOpenChange={setOpen}
        tone="main"
        title={t('form.title')}
        consequences={<p>{t('form.lead')}</p>}
        action={t('form.submit')}
        needsApproval={wanted.includes('admin')}
        change={isFull || isNameBad ? { ...create, problem: undefined } : create}
        isIncomplete={wanted.length === 0 || !isDayGood}
        onConfirm={() =>
          create.begin(
            {
              body: {
                agent_id: agent.id,
                scopes: wanted,
                ...(draft.name.trim() !== '' && { name: draft.name.trim() }),
                ...expiryOf(expiry, draft.day),
              },
            },
            clear,
            clear,
          )
        }
      >
        {isFull && <Alert tone="danger" title={t('form.full', { most: agent.most })} isLive />}
        <Select
          label={t('form.agent')}
          name="agent"
          value={agent.id}
          onChange={({ target }) => change({ agent: target.value })}
          options={agents.map(({ id, name, used, most }) => ({
            value: id,
            title: t('form.agentOption', { name: name ?? id, used, most }),
          }))}
        />
        <Field
          label={t('form.name')}
          hint={t('form.nameHint')}
          name="name"
          dir="auto"
          autoComplete="off"
          value={draft.name}
          onChange={({ target }) => change({ name: target.value })}
          error={isNameBad ? t('form.badName') : undefined}
        />
        <ScopesField scopes={scopes} draft={draft} change={change} />
        <ExpiryFields offered={offered} expiry={expiry} isDayGood={isDayGood} draft={draft} change={change} />
      </Confirm>
    </>
  )
}

interface TokenFieldProps {
  draft: TokenDraft
  change: (changes: Partial<TokenDraft>) => void
}

function ScopesField({ scopes, draft, change }: TokenFieldProps & { scopes: readonly TokenScope[] }) {
  const t = useTranslations('tokens')
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 font-medium">{t('form.scopes')}</legend>
      {scopes.map((scope) => (
        <Checkbox
          key={scope}
          name={scope}
          label={t(`scopes.${scope}`)}
          hint={t(`scopeTexts.${scope}`)}
          checked={draft[scope]}
          onChange={({ target }) => change({ [scope]: target.checked })}
        />
      ))}
      {!scopes.some((scope) => draft[scope]) && (
        <p role="alert" className="text-sm text-red">
          {t('form.noScope')}
        </p>
      )}
    </fieldset>
  )
}

interface ExpiryFieldsProps extends TokenFieldProps {
  offered: readonly Expiry[]
  expiry: Expiry
  isDayGood: boolean
}
/** A lifetime, or the last day. */
function ExpiryFields({ offered, expiry, isDayGood, draft, change }: ExpiryFieldsProps) {
  const t = useTranslations('tokens.form')
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Select
        label={t('expiry')}
        name="expiry"
        value={expiry}
        onChange={({ target }) => change({ expiry: target.value })}
        options={offered.map((value) => ({ value, title: t(`expiries.${value}`) }))}
      />
      {expiry === 'day' && (
        <Field
          label={t('day')}
          type="date"
          name="day"
          value={draft.day}
          onChange={({ target }) => change({ day: target.value })}
          error={isDayGood || draft.day === '' ? undefined : t('badDay')}
          required
        />
      )}
    </div>
  )
}
