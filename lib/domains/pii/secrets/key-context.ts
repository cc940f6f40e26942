const before = 96
const after = 48
/** Names of private keys; `public key` is not one. */
const keyTerms =
  /priv(?:ate)?[ _-]{0,2}key|secret[ _-]{0,2}key|signing[ _-]{0,2}key|signer[ _-]{0,2}key|deployer[ _-]{0,2}key|wallet[ _-]{0,2}key|owner[ _-]{0,2}key|account[ _-]{0,2}key|\bpriv\b|\bpk\b|\bsecret\b|new (?:ethers\.)?wallet|privatekeytoaccount|from_key|secp256k1|\bkeystore\b|clave privada|clé privée|privater schlüssel|privaten schlüssel|chiave privata|chave privada|приватный ключ|закрытый ключ|私钥|私鑰|秘密鍵|개인키|비밀키/giu
/** Names of other 32-byte hexadecimal values: transactions, blocks, hashes of all kinds. */
const otherTerms =
  /\b(?:tx|txn|txs|txid|tx_?hash|txn_?hash|transaction|transactions|receipt|hash|hashes|block|blockhash|topic|topics|merkle|root|slot|digest|sha-?256|keccak|keccak256|commit|checksum|bytes32|nonce|signature|salt|domain separator|public[ _-]?key|pubkey|calldata|event|log|etag|sha256sum)\b|(?:tx|transaction|block|state|log|receipt|merkle)_?(?:hash|id|root)|交易|哈希|区块|トランザクション|ハッシュ|트랜잭션|해시/giu

const last = (text: string, terms: RegExp): number => {
  let at = -1
  for (const match of text.matchAll(terms)) at = match.index + match[0].length
  return at
}
const first = (text: string, terms: RegExp): number => {
  const at = text.search(terms)
  return at < 0 ? Number.POSITIVE_INFINITY : at
}

/** Whether the context calls the value a key: the nearest name before it decides, or otherwise the first name after it. */
export function isCalledKey(text: string, start: number, end: number): boolean {
  const prior = text.slice(Math.max(0, start - before), start)
  const [key, hash] = [last(prior, keyTerms), last(prior, otherTerms)]
  if (key >= 0 || hash >= 0) return key > hash
  const next = text.slice(end, end + after)
  return first(next, keyTerms) < first(next, otherTerms)
}

const seedTerms =
  /seed|mnemonic|recovery|backup phrase|secret phrase|wallet words|助记词|助記詞|种子|種子|恢复词|恢復詞|备份词|密语|密語|ニーモニック|シード|復元フレーズ|니모닉|시드|복구/iu
/** A word for a seed phrase directly before a value: a name of a function or a file that contains it is none. */
const seedBefore = new RegExp(
  `(?<![A-Za-z0-9_])(?:${seedTerms.source})(?:[ _-]{1,2}[a-z]{1,10}){0,3}(?:[^\\p{L}\\p{N}，,]|\\p{Script=Han}|\\p{Script=Hiragana}|\\p{Script=Hangul}){0,12}[，,]?\\s?$`,
  'iu',
)
/** Whether the text announces that a seed phrase follows. */
export const announcesSeed = (text: string, start: number): boolean =>
  seedBefore.test(text.slice(Math.max(0, start - before), start))
/** Whether the text just before this position mentions a seed phrase. */
export const isCalledSeed = (text: string, start: number): boolean =>
  seedTerms.test(text.slice(Math.max(0, start - before), start))
