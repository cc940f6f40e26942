'use client'

import { useRouter } from 'next/navigation'
import { useNow, useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Grace } from '#lib/domains/privacy-requests/rules.ts'
import { beginsAt, type CopyChoice, isDeleteWord } from './deletion-rules.ts'
import { filedDeletionQuery } from './filed-deletion-rules.ts'
import { useFiling } from './filing.ts'
import { IdentityField, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

interface DeletionConfirmProps {
  grace: Grace
  copy: CopyChoice
  /** The person's name is removed from records that other people wrote in graphs. */
  redacts: boolean
  agentId: string | undefined
  identity: PasswordIdentity
  isAdmin: boolean
}

/** Asks for the confirmation word and the password, then files the request once. The result has its own address that needs no session. */
export function DeletionConfirm({ grace, copy, redacts, agentId, identity, isAdmin }: DeletionConfirmProps) {
  const t = useTranslations('deletion.confirm')
  const now = useNow({ updateInterval: 60_000 })
  const router = useRouter()
  const filing = useFiling({ hasPassword: identity.hasPassword, isQuiet: true })
  const [word, setWord] = useState('')
  const [isMismatch, setMismatch] = useState(false)
  const [isSent, setSent] = useState(false)
  const withCopy = copy === 'with' && agentId === undefined
  const [own, other] = t('word') === 'DELETE' ? ['DELETE', '删除'] : ['删除', 'DELETE']

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isSent) return
    const isRight = isDeleteWord(word)
    setMismatch(!isRight)
    if (!isRight) return
    filing.file(
      {
        kinds: withCopy ? ['access', 'erasure'] : ['erasure'],
        grace,
        ...(redacts && { redact: true }),
        ...(agentId !== undefined && { agent_id: agentId }),
      },
      ({ data, joined }) => {
        setSent(true)
        const isJoined = joined.some(({ kind }) => kind === 'erasure')
        router.replace(`/settings/privacy/delete?${filedDeletionQuery(data, { agent: agentId, isJoined })}`)
        router.refresh()
      },
    )
  }
  const isBusy = filing.isPending || isSent
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('title')}>
      <p>
        {withCopy && grace === 'now'
          ? t('summaryCopy')
          : t.rich('summary', {
              copy: withCopy ? 'with' : 'none',
              grace,
              time: () => <Time at={beginsAt(grace, now).toISOString()} relative />,
            })}
      </p>
      {redacts && <p>{t('names')}</p>}
      <RefusalNote error={filing.refusal} words="deletion" {...(isAdmin && !agentId && { conflict: 'lastAdmin' })} />
      <Field
        label={t('type', { word: own ?? '' })}
        hint={t('typeHint', { other: other ?? '' })}
        error={isMismatch && !isDeleteWord(word) ? t('mismatch', { word: own ?? '' }) : undefined}
        name="word"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={20}
        value={word}
        onChange={({ target }) => setWord(target.value)}
        className="sm:max-w-96"
      />
      <IdentityField {...identity} input={filing.input} fault={filing.fault} />
      <Button type="submit" tone="danger" aria-disabled={isBusy} className="justify-self-start">
        {isBusy ? t('busy') : t(!identity.hasPassword ? 'link' : agentId === undefined ? 'button' : 'buttonAgent')}
      </Button>
    </form>
  )
}
