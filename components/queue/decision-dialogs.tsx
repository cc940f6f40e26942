'use client'

import { useLocale, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Field, Select } from '#components/ui/field.tsx'
import { Space, usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import { isCancellable, type RefusalGround, refusalGrounds } from '#lib/domains/privacy-requests/rules.ts'
import { type ActProps, Shell, touching, useReasonText } from './act-shell.tsx'
import { extendedBy, type HandKind, longestExtension, partsByHand } from './acts.ts'
import { completeAt, extendAt, refuseAt } from './endpoints.ts'
import { ReplyField, replyFactsOf } from './reply-templates.tsx'
import { filledReply, type ReplyLanguage, replyTemplates } from './reply-texts.ts'

export function ExtendDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.extend')
  const dialogs = useTranslations('queue.dialogs')
  const words = useReasonText(props, 'extend')
  const now = useNow()
  const most = longestExtension(props.request, now)
  const [days, setDays] = useState('30')
  const change = useApiMutation(extendAt, touching)
  const count = Number(days)
  const limit = Number.isInteger(count) && count > 0 ? extendedBy(props.request, count, now) : undefined
  const isAllowed = limit instanceof Date
  const send = () =>
    change.begin({ params: { id: props.request.id }, body: { days: count, reason: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="extend"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={words.unlessGap(send)}
      isIncomplete={words.isEmpty || !isAllowed}
    >
      {most === 0 ? (
        <p className="text-amber">{t('none')}</p>
      ) : (
        <>
          <Field
            label={t('days')}
            type="number"
            inputMode="numeric"
            min={1}
            max={most}
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
            hint={t('daysHint', { most })}
            error={isAllowed ? undefined : t('wrong', { most })}
            className="max-w-32"
            required
          />
          {isAllowed && (
            <p role="status">{t.rich('preview', { time: () => <Time at={limit.toISOString()} relative /> })}</p>
          )}
          <ReplyField act="extend" request={props.request} label={dialogs('reason')} words={words} />
        </>
      )}
    </Shell>
  )
}

export function RefuseDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.refuse')
  const kindName = useTranslations('requestNames.kinds')
  const dialogs = useTranslations('queue.dialogs')
  const { list } = usePunctuation()
  const words = useReasonText(props, 'refuse')
  const [ground, setGround] = useState<RefusalGround>()
  const change = useApiMutation(refuseAt, touching)
  const { request } = props
  const byHand = partsByHand(request)
  const kinds = list(byHand.map((kind) => kindName(kind)))
  const send = () => {
    if (ground) change.begin({ params: { id: request.id }, body: { ground, reason: words.text } }, words.sent)
  }
  return (
    <Shell
      {...props}
      act="refuse"
      tone="danger"
      text={
        <p>
          {isCancellable(request.state) ? t('textWhole') : t('textPart', { kinds })}
          <Space />
          {byHand.includes('objection') && t('objection')}
        </p>
      }
      change={change}
      onConfirm={words.unlessGap(send)}
      isIncomplete={words.isEmpty || ground === undefined}
    >
      <ReplyField act="refuse" request={request} label={dialogs('reason')} words={words} onGround={setGround}>
        <Select
          label={t('ground')}
          value={ground ?? ''}
          onChange={(event) => setGround(refusalGrounds.find((one) => one === event.currentTarget.value))}
          options={[
            { value: '', title: t('choose') },
            ...refusalGrounds.map((value) => ({ value, title: t(`grounds.${value}`) })),
          ]}
          required
        />
      </ReplyField>
      <p className="rounded-box border border-line bg-sunken px-4 py-3 text-sm text-quiet">{t('letter')}</p>
    </Shell>
  )
}

/** The answer about records that were just corrected; empty without any. */
function proposedAnswer({ request, corrected = [] }: ActProps, locale: ReplyLanguage): string {
  const language = request.subject_locale ?? locale
  const [template] = replyTemplates.rectification
  if (!template || corrected.length === 0) return ''
  return filledReply(template[language].text, language, replyFactsOf(request, corrected))
}

export function CompleteDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.complete')
  const kindName = useTranslations('requestNames.kinds')
  const locale = useLocale()
  const kinds = partsByHand(props.request)
  const words = useReasonText(props, 'complete', proposedAnswer(props, locale))
  const [chosen, setChosen] = useState<HandKind>()
  const change = useApiMutation(completeAt, touching)
  const kind = chosen ?? kinds[0]
  const send = () => {
    if (kind) change.begin({ params: { id: props.request.id }, body: { kind, note: words.text } }, words.sent)
  }
  return (
    <Shell
      {...props}
      act="complete"
      text={
        <p>
          {t('text')} {kind === 'objection' && t('objection')}
        </p>
      }
      change={change}
      onConfirm={words.unlessGap(send)}
      isIncomplete={words.isEmpty || kind === undefined}
    >
      <Select
        label={t('kind')}
        value={kind ?? ''}
        onChange={(event) => setChosen(kinds.find((one) => one === event.currentTarget.value))}
        options={kinds.map((value) => ({ value, title: kindName(value) }))}
      />
      <ReplyField
        act={kind}
        request={props.request}
        {...(props.corrected && { corrected: props.corrected })}
        label={t('field')}
        words={words}
      />
    </Shell>
  )
}
