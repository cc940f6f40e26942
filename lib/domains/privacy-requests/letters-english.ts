import { letterTime as time } from '#lib/stores/mail/letter.ts'
import { dateOf, groundOf, type LetterFacts, type Words } from './letter-facts.ts'
import type { Kind, RefusalGround } from './rules.ts'

const kindNames: Record<Kind, string> = {
  access: 'access',
  portability: 'portability',
  rectification: 'rectification',
  restriction: 'restriction',
  objection: 'objection',
  erasure: 'erasure',
}
const grounds: Record<RefusalGround, string> = {
  unfounded: 'it is manifestly unfounded',
  excessive: 'it is excessive',
  identity: 'we could not be sure who asked',
  legal_obligation: 'the law obliges us to keep the data',
  other: 'for the reason below',
}
const cancelling = ({ links }: LetterFacts): string[] =>
  links.cancel === undefined
    ? []
    : ['To keep your data, open this page and press the button. It works until the erasure begins.', links.cancel]
const remedies =
  'You have the right to lodge a complaint with your data protection authority, and to a judicial remedy (GDPR art. 12(4), 77, 79).'

/** By event; an event that is not here is told in no letter. */
export const english: Record<string, Words> = {
  received: {
    subject: 'We received your privacy request',
    text: (_, { kinds, legalDueAt }) => [
      `We received a request for ${kinds.map((kind) => kindNames[kind]).join(', ')}. The law gives us until ${time(legalDueAt)}; we aim at 72 hours once it is settled who asks.`,
    ],
  },
  link_sent: {
    subject: 'Confirm your privacy request',
    text: (_, { links }) =>
      links.verify !== undefined
        ? [
            'To confirm that it was you who asked, open this page and press the button. It works once, for ten minutes.',
            links.verify,
            'If it was not you, do nothing: without the confirmation nothing happens.',
          ]
        : [],
  },
  verified: { subject: 'Your privacy request is confirmed', text: () => ['It is settled that it was you who asked.'] },
  waiting: {
    subject: 'Your data will be erased',
    text: (told, facts) => [
      `The erasure begins at ${time(facts.waitingUntil ?? dateOf(told.details.until))}.${told.details.shortened === true ? ' That is earlier than you chose, because the law’s limit comes before.' : ''} ${
        facts.tokensStop
          ? 'Until then no token of the agents works'
          : 'Until then the tokens of the agents go on working'
      }${facts.isAgent ? '' : facts.signInStays ? ', and you can still sign in' : ', and your sessions have ended'}.`,
      ...cancelling(facts),
    ],
  },
  reminded: {
    subject: 'Tomorrow your data will be erased',
    text: (_, facts) => [
      `The grace ends at ${facts.waitingUntil ? time(facts.waitingUntil) : ''}. After that nothing can be brought back.`,
      ...cancelling(facts),
    ],
  },
  expedited: {
    subject: 'The grace was ended',
    text: ({ note }) => ['The grace of your request was ended: the work begins now.', ...(note ? [note] : [])],
  },
  running: {
    subject: 'Your privacy request is being carried out',
    text: ({ details }) => [
      details.run_id === undefined
        ? 'The work on your request has begun.'
        : 'The erasure has begun. It cannot be taken back.',
    ],
  },
  verifying: {
    subject: 'Your data is erased and is being verified',
    text: () => ['Everything is erased. Every store is searched once more before we sign the receipt.'],
  },
  completed: {
    subject: 'Your privacy request is done',
    text: (_, { receipt, kinds }) => [
      kinds.includes('erasure') ? 'Everything is erased and verified.' : 'Everything that you asked for is done.',
      ...(receipt === undefined
        ? []
        : ['This is the signed receipt. Knowing the address is the right to read it, so keep it.', receipt]),
    ],
  },
  partly_completed: {
    subject: 'Your privacy request is done, but for what the law keeps',
    text: (_, { receipt }) => [
      'Everything is erased and verified but what a legal hold covers. The rest is erased by itself when the hold ends; we write to you then.',
      ...(receipt === undefined ? [] : ['The signed receipt says what is kept, and why.', receipt]),
    ],
  },
  cancelled: {
    subject: 'Your privacy request is cancelled',
    text: (_, { kinds }) => [
      kinds.includes('erasure')
        ? 'The request is cancelled. Nothing was erased, and everything works as before.'
        : 'The request is cancelled.',
    ],
  },
  expired: {
    subject: 'Your privacy request has expired',
    text: () => ['Nobody confirmed it within the month, so we closed it. Ask again at any time.'],
  },
  rejected: {
    subject: 'We refused your privacy request',
    text: ({ details, note }) => [
      `We refused the request: ${grounds[groundOf(details.ground)]}.`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  part_refused: {
    subject: 'We refused a part of your privacy request',
    text: ({ details, note }) => [
      `We refused a part of it: ${grounds[groundOf(details.ground)]}.`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  part_done: {
    subject: 'A part of your privacy request is done',
    text: ({ note }) => ['A part of your request was carried out by hand:', ...(note ? [note] : [])],
  },
  failed: {
    subject: 'Your privacy request needs another try',
    text: () => [
      'Something in it did not work. Nothing is lost; our administrators know, and try it again. You need not do anything.',
    ],
  },
  extended: {
    subject: 'Your privacy request takes longer',
    text: ({ details, note }) => [
      `We need until ${time(dateOf(details.until))} (GDPR art. 12(3)). The reason:`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  paused: {
    subject: 'Your privacy request is paused',
    text: ({ details, note }) => [
      details.reason === 'last_admin'
        ? 'The erasure cannot begin: you are the last administrator of this installation. Make somebody else one first.'
        : 'The clocks of your request stand still. The reason:',
      ...(note ? [note] : []),
    ],
  },
  resumed: {
    subject: 'Your privacy request goes on',
    text: (_, { legalDueAt }) => [`Your request goes on. The law’s limit is ${time(legalDueAt)} now.`],
  },
  rectified: {
    subject: 'Your data was corrected',
    text: () => ['What you asked us to correct in your account is corrected.'],
  },
  address_asked: {
    subject: 'Confirm your new address',
    text: () => ['A letter went to the new address: it takes the place of this one once it is confirmed there.'],
  },
  copy_ready: {
    subject: 'Your copy is ready',
    text: () => ['The copy of your data is ready. It is there for four hours, for you alone, when you are signed in.'],
  },
  copy_failed: {
    subject: 'Your copy needs another try',
    text: () => ['The copy of your data could not be made. Nothing is lost; our administrators try it again.'],
  },
}
