import { useTranslations } from 'next-intl'
import { useDataNames } from '#components/stores/data-names.ts'
import type { RequestCause } from '#lib/domains/privacy-requests/erasures/contract.ts'
import { useFaultWords } from './fault-words.ts'

interface CauseListProps {
  causes: readonly RequestCause[]
  /** The deletion is complete: the causes delayed it. */
  isOver?: boolean
}
/** Why a deletion or a request is late or not complete. Needs the messages `causes`, `storeProgress` and `dataNames`. */
export function CauseList({ causes, isOver = false }: CauseListProps) {
  const t = useTranslations('causes')
  const names = useDataNames()
  const faultWords = useFaultWords()
  const texts = causes.map(({ code, store, fault }) =>
    t(isOver ? 'delay' : 'cause', {
      text: t(code, { store: store === null ? '' : names.place(store), fault: faultWords(fault) }),
    }),
  )
  return (
    <ul className="grid gap-0.5 text-sm text-quiet" data-causes={causes.map(({ code }) => code).join(' ')}>
      {(texts.length === 0 ? [t('none')] : texts).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}
