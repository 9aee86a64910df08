"""apt-get with lists of its own under build/: what it fetches from where this machine fetches its
packages needs neither root nor a change of /etc/apt."""

import os
import subprocess
import sys


def run(*command, **more):
    print('+ ' + ' '.join(command), flush=True)
    return subprocess.run(command, check=True, text=True, **more)


class Apt:
    def __init__(self, folder, kind='deb', options=()):
        """kind: 'deb' for packages, 'deb-src' for sources. options: more of apt-get's own."""
        self.sources = os.path.join(folder, 'sources.list')
        self.kind, self.options = kind, []
        for name, path in (('State::Lists', 'lists'), ('Cache', 'cache')):
            full = os.path.join(folder, path)
            os.makedirs(os.path.join(full, 'archives' if path == 'cache' else '', 'partial'),
                        exist_ok=True)
            self.options += ['-o', 'Dir::%s=%s' % (name, full)]
        self.options += ['-o', 'APT::Sandbox::User=root']
        self.more = list(options)

    def __call__(self, *words, **more):
        return run('apt-get', *self.options, *self.more, *words, **more)

    def update(self):
        places = self._places([])
        if not places:  # the lists of this machine were never fetched, or thrown away
            run('apt-get', *self.options, 'update')
            places = self._places(self.options)
        if not places:
            sys.exit('no Debian among the package sources of this machine (apt-get indextargets)')
        with open(self.sources, 'w', encoding='utf-8') as file:
            file.write('\n'.join(places) + '\n')
        self.options += ['-o', 'Dir::Etc::SourceList=' + self.sources,
                         '-o', 'Dir::Etc::SourceParts=/dev/null']
        self('update')

    def _places(self, options):
        """The lines for sources.list, from those that this machine has for packages."""
        form = self.kind + ' $(REPO_URI) $(RELEASE) $(COMPONENT)'
        output = run('apt-get', *options, 'indextargets', '--format', form, 'Created-By: Packages',
                     'Origin: Debian', stdout=subprocess.PIPE).stdout
        return sorted(set(output.splitlines()))
