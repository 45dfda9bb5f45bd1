import { config } from '@n8n/node-cli/eslint';

export default [
  ...config,
  {
    files: ['package.json'],
    rules: {
      // The node has the licence of the project; n8n's list of verified nodes takes MIT only.
      'n8n-nodes-base/community-package-json-license-not-default': 'off',
      // The project has no address yet: neither a page nor a mailbox is invented.
      '@n8n/community-nodes/require-homepage': 'off',
      '@n8n/community-nodes/valid-author': 'off',
    },
  },
  {
    files: ['credentials/*.ts'],
    rules: {
      // As above: the documentation has no address.
      'n8n-nodes-base/cred-class-field-documentation-url-missing': 'off',
    },
  },
];
