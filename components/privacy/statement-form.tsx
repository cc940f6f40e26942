'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { FiledNote } from './filed-note.tsx'
import { type FiledRequestAnswer, useFiling } from './filing.ts'
import { longestStatement } from './filing-rules.ts'
import { IdentityField, LostFactor, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

interface StatementFormProps {
  /** `correct`: a statement about wrong data; `object`: an objection (GDPR art. 21). Also the message namespace. */
  about: 'correct' | 'object'
  /** Set if it concerns only this agent. */
  agentId: string | undefined
  identity: PasswordIdentity
}

/** Files a free-text statement that a person reviews. */
export function StatementForm({ about, agentId, identity }: StatementFormProps) {
  const t = useTranslations(`myPrivacy.${about}`)
  const correct = useTranslations('myPrivacy.correct')
  const busy = useTranslations('myPrivacy.filed')('busy')
  const { draft, change, clear } = useDraft(`privacy.${about}.${agentId ?? ''}`, { statement: '' })
  const filing = useFiling(identity)
  const [filed, setFiled] = useState<FiledRequestAnswer>()
  const [isMissing, setMissing] = useState(false)
  const statement = draft.statement.trim()
  const over = statement.length - longestStatement

  const send = (byLink: boolean) => {
    setMissing(statement === '')
    if (statement === '' || over > 0) return
    setFiled(undefined)
    const kinds = about === 'correct' ? (['rectification'] as const) : (['objection'] as const)
    const body = { kinds: [...kinds], statement, ...(agentId !== undefined && { agent_id: agentId }) }
    const done = (answer: FiledRequestAnswer) => {
      setFiled(answer)
      clear()
    }
    filing.file(body, done, { byLink })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send(false)
  }
  const error =
    over > 0
      ? correct('tooLong', { count: statement.length, over })
      : isMissing && statement === ''
        ? t('missing')
        : undefined
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('statement')}>
      {filed && <FiledNote filed={filed} title={t('sent')} />}
      <RefusalNote error={filing.refusal} words="myPrivacy" />
      <TextArea
        label={t('statement')}
        hint={correct('statementHint', { most: longestStatement })}
        name="statement"
        dir="auto"
        value={draft.statement}
        error={error}
        onChange={({ target }) => change({ statement: target.value })}
      />
      <IdentityField {...identity} input={filing.input} fault={filing.fault} />
      {filing.isUnconfirmed && (
        <LostFactor email={identity.email} isPending={filing.isPending} onLink={() => send(true)} />
      )}
      <Button type="submit" tone="plain" aria-disabled={filing.isPending} className="justify-self-start">
        {filing.isPending ? busy : t('send')}
      </Button>
    </form>
  )
}
