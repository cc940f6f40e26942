'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useSettled } from '#components/frame/typed.ts'
import { Combobox, type ComboboxOption } from '#components/ui/combobox.tsx'
import { actorsAt, type Named } from './actors.ts'
import { bareId } from './filters.ts'

interface ActorFieldProps {
  label: string
  value: Named
  onChange: (value: Named) => void
  /** Resources have the id of an account, actors have it with a prefix. */
  isResource?: boolean
  error: string | undefined
}

/** A person or agent by name, email address or id. The last suggestion takes the text as an id, for deleted people and agents. */
export function ActorField({ label, value, onChange, isResource = false, error }: ActorFieldProps) {
  const t = useTranslations('audit.filters')
  const options = useActors(value, isResource)
  return (
    <Combobox
      label={label}
      placeholder={t('actorHint')}
      text={value.text}
      onText={(text) => onChange({ id: null, text })}
      options={options}
      onChoose={(option) => onChange({ id: option.value, text: option.title })}
      error={error}
    />
  )
}

function useActors({ id, text }: Named, isResource: boolean): ComboboxOption[] {
  const t = useTranslations('audit.filters')
  const q = useSettled(text.trim())
  const isAsked = id === null && q.length >= 2
  const { data } = useApiQuery(actorsAt, { query: { q } }, { enabled: isAsked })
  if (!isAsked) return []
  return [
    ...(data?.data ?? []).map((actor) => ({
      value: isResource ? bareId(actor.id) : actor.id,
      title: actor.name ?? actor.id,
      text: actor.email ?? bareId(actor.id),
    })),
    { value: text.trim(), title: t('asId', { text: text.trim() }) },
  ]
}
