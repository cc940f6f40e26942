import { useTranslations } from 'next-intl'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { AdminRequest } from './endpoints.ts'

/** Names for requests. Needs the messages `queue`. */
export function useRequestWords() {
  const t = useTranslations('queue')
  const names = useTranslations('requestNames')
  const { colon, list } = usePunctuation()
  const kinds = ({ kinds: asked }: Pick<AdminRequest, 'kinds'>): string =>
    list(asked.map((kind) => names(`kinds.${kind}`)))
  /** The name, otherwise an available id. An erased subject has neither. */
  const subject = ({
    subject_name,
    agent_id,
    account_id,
    participant_id,
  }: Pick<AdminRequest, 'subject_name' | 'agent_id' | 'account_id' | 'participant_id'>): string =>
    subject_name ?? agent_id ?? account_id ?? participant_id ?? t('erasedSubject')
  return {
    kinds,
    subject,
    state: ({ state }: Pick<AdminRequest, 'state'>): string => names(`states.${state}`),
    /** For a checkbox or a list of results. */
    whole: (request: AdminRequest): string => `${subject(request)}${colon}${kinds(request)}`,
  }
}
