/**
 * Why something sealed does not open or cannot be sealed. `wrong_passphrase` is also what a keyring shows whose salt or wrapped key
 * was changed: without the key nobody can tell the two apart. `damaged` is said only where it can be told.
 */
export type SealingCode =
  | 'wrong_passphrase'
  | 'wrong_recovery_code'
  | 'mistyped_recovery_code'
  | 'weak_passphrase'
  | 'refused_parameters'
  | 'damaged'
  | 'other_key'
  | 'too_large'

const words: Record<SealingCode, string> = {
  wrong_passphrase:
    'This passphrase does not open the keyring. Nothing was changed; try again, or use the recovery code.',
  wrong_recovery_code:
    'This recovery code does not open the keyring. It is written without a slip, so it is the code of another keyring, or one that was replaced.',
  mistyped_recovery_code:
    'The recovery code has a slip: its check signs do not fit. Compare it with what you wrote down; nothing was tried.',
  weak_passphrase:
    'A passphrase has 12 signs at least: whoever has a copy of the keyring may guess as often as they like.',
  refused_parameters:
    'The parameters of the keyring are refused: Argon2id with 64 MiB to 1 GiB of memory, 3 to 16 passes and one lane.',
  damaged: 'This was changed since it was sealed, or it is not what it says: nothing of it is shown.',
  other_key: 'This was sealed under another keyring than the one that is open.',
  too_large: 'An entry is larger than 64 KiB when it is sealed. Make two of it.',
}

/** What this module throws, and nothing else where the input is at fault. Its message holds nothing of what was sealed. */
export class SealingRefusal extends Error {
  readonly code: SealingCode
  constructor(code: SealingCode) {
    super(words[code])
    this.name = 'SealingRefusal'
    this.code = code
  }
}
