import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IDataObject } from 'n8n-workflow';

/** Seconds that an event may be old: what is older may be sent again by somebody who recorded it. */
export const OLDEST = 300;

/** Whether one of the signatures is that of the body (Standard Webhooks); after a change of the secret there are two for a day. */
export function isSigned(secret: string, headers: IDataObject, body: Buffer, now: number): boolean {
  const id = String(headers['webhook-id'] ?? '');
  const at = String(headers['webhook-timestamp'] ?? '');
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  if (!key.length || !id || !/^\d+$/.test(at) || Math.abs(now / 1000 - Number(at)) > OLDEST) return false;
  const expected = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest();
  return String(headers['webhook-signature'] ?? '')
    .split(' ')
    .some((each) => {
      const given = Buffer.from(each.replace(/^v1,/, ''), 'base64');
      return each.startsWith('v1,') && given.length === expected.length && timingSafeEqual(given, expected);
    });
}
