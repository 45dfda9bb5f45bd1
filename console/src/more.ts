/** The screens that are not loaded with the first page, in one file. */
export { Keys } from './api-keys/screen';
export { AuditLog } from './audit/screen';
export { Bin } from './bin/screen';
export { Clients } from './clients/list';
export { ClientScreen } from './clients/screen';
export { Words } from './clients/words-screen';
export { Duplicates } from './duplicates/screen';
export { Endpoints } from './endpoints/screen';
export { Erasure } from './erasure/screen';
export { Help } from './help/screen';
export { Imports } from './imports/screen';
export { Profile } from './team/profile';
export { Settings } from './settings/screen';
export { Suppressions } from './suppressions/screen';
export { Tasks } from './tasks/screen';
export { Team } from './team/screen';
export { Webhooks } from './webhooks/screen';
