'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import type { Grace } from '#lib/domains/privacy-requests/rules.ts'
import { type Consequences, type CopyChoice, isDeleteWord } from './deletion-rules.ts'
import { DeletionStart, type GraceRules } from './deletion-start.tsx'
import { DeletionSummary } from './deletion-summary.tsx'
import { filedDeletionQuery } from './filed-deletion-rules.ts'
import { useFiling } from './filing.ts'
import { IdentityField, LostFactor, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

export interface DeletionConfirmProps extends GraceRules {
  numbers: Consequences
  grace: Grace
  onGrace: (grace: Grace) => void
  copy: CopyChoice
  /** The person's name is removed from records that other people wrote in graphs. */
  redacts: boolean
  agentId: string | undefined
  identity: PasswordIdentity
  isAdmin: boolean
}

/** Repeats what is deleted and when, asks for the confirmation word and the password, and files the request once. */
export function DeletionConfirm({ numbers, onGrace, tokens, signIn, ...props }: DeletionConfirmProps) {
  const { grace, agentId, identity, isAdmin, redacts } = props
  const t = useTranslations('deletion.confirm')
  const { filing, file, isSent, withCopy } = useDeletion(props)
  const [word, setWord] = useState('')
  const [isMismatch, setMismatch] = useState(false)
  const expected = t('word')

  const send = (form: HTMLFormElement | null, byLink: boolean) => {
    if (isSent) return
    const isRight = isDeleteWord(word)
    setMismatch(!isRight)
    if (isRight) file(byLink)
    else form?.querySelector<HTMLInputElement>('input[name=word]')?.focus()
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    send(event.currentTarget, false)
  }
  const isBusy = filing.isPending || isSent
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('title')}>
      <DeletionSummary numbers={numbers} withCopy={withCopy} redacts={redacts} />
      <DeletionStart {...{ grace, onGrace, withCopy, tokens, signIn }} isOfAgent={agentId !== undefined} />
      <RefusalNote error={filing.refusal} words="deletion" {...(isAdmin && !agentId && { conflict: 'lastAdmin' })} />
      <Field
        label={t('type', { word: expected })}
        error={isMismatch && !isDeleteWord(word) ? t('mismatch', { word: expected }) : undefined}
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
      {filing.isUnconfirmed && (
        <LostFactor email={identity.email} isPending={isBusy} onLink={(form) => send(form, true)} />
      )}
      <Button type="submit" tone="danger" aria-disabled={isBusy} className="justify-self-start">
        {isBusy ? t('busy') : t(!identity.hasPassword ? 'link' : agentId === undefined ? 'button' : 'buttonAgent')}
      </Button>
    </form>
  )
}

/** Files the deletion once. Its result has its own address, which needs no session. */
function useDeletion({
  grace,
  copy,
  redacts,
  agentId,
  identity,
}: Pick<DeletionConfirmProps, 'grace' | 'copy' | 'redacts' | 'agentId' | 'identity'>) {
  const router = useRouter()
  const filing = useFiling({ hasPassword: identity.hasPassword, isQuiet: true })
  const [isSent, setSent] = useState(false)
  const withCopy = copy === 'with' && agentId === undefined
  const file = (byLink: boolean) =>
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
      { byLink },
    )
  return { filing, file, isSent, withCopy }
}
